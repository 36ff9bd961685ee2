"""The ConvNetPart pathway (paper, section 3.2): one net, learned online, that draws the object's centre."""

from tracking_parts.convnet_part.pathway import CentrePathway, View, build_pathway

__all__ = ["CentrePathway", "View", "build_pathway"]
