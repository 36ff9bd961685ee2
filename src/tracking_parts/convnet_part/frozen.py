"""What pathways on the frozen trunk keep of a frame: its cached activations."""

from __future__ import annotations

from tracking_parts.confident_frames import TrainingFrame
from tracking_parts.convnet_part.augmentation import augment
from tracking_parts.convnet_part.pathway import Look, View
from tracking_parts.geometry import Point


class OnFrozenFeatures:
    """Samples for a pathway that learns from the shared features alone."""

    def sample(self, view: View, centre: Point, object_in_map: tuple[float, float], frame_index: int) -> TrainingFrame:
        size = view.convnet_size(object_in_map)
        return TrainingFrame(frame_index, view.convnet_point(centre), size, None, view.convnet_features)

    def variants(
        self, view: View, centre: Point, object_in_map: tuple[float, float], look: Look
    ) -> list[TrainingFrame]:
        crops = augment(view.crop, view.window.crop_from_map(centre))
        return [self.sample(seen, centre, object_in_map, 0) for seen in look(crops)]
