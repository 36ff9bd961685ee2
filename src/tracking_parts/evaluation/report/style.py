"""The look of the page: one style sheet, no file from outside, colours that work in the light, in the dark and printed.

The trackers' colours follow Okabe and Ito, darkened or lightened until each stands out by 3:1 or more from its
background; text is never coloured by tracker, so that it keeps at least 4.5:1.
"""

from __future__ import annotations

LIGHT = ("#0068a8", "#c24b00", "#007a58", "#a0427a", "#806000", "#3f3f9c", "#6b6b6b", "#a32020")
DARK = ("#56b4e9", "#ff9650", "#2cc79a", "#e69ac6", "#e6c84a", "#a9a4f5", "#b4b4b4", "#ff8585")


def style_sheet() -> str:
    light = "".join(f"--s{slot}:{colour};" for slot, colour in enumerate(LIGHT))
    dark = "".join(f"--s{slot}:{colour};" for slot, colour in enumerate(DARK))
    slots = "".join(f".s{slot}{{--c:var(--s{slot})}}" for slot in range(len(LIGHT)))
    return _SHEET.replace("/*light*/", light).replace("/*dark*/", dark) + slots


_SHEET = """
:root{color-scheme:light dark;--paper:#fff;--soft:#f4f5f7;--ink:#1b1e23;--muted:#565c66;--rule:#d9dce1;
--link:#0a5a94;--heat:0,104,168;--warn:#fff6df;--warn-rule:#b98900;/*light*/}
@media screen and (prefers-color-scheme:dark){:root{--paper:#14171b;--soft:#1d2126;--ink:#e7e9ec;--muted:#a6adb8;
--rule:#343a43;--link:#7cc4f2;--heat:86,180,233;--warn:#2d2611;--warn-rule:#d3a72c;/*dark*/}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-padding-top:1rem}
@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.55;font-size:16px;
font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Noto Sans",sans-serif;
font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
a{color:var(--link)}
a:focus-visible,.scroll:focus-visible,summary:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-100vw}
.skip:focus{left:1rem;top:1rem;background:var(--paper);padding:.5rem;z-index:9}
.page{max-width:76rem;margin:0 auto;padding:2rem 1.5rem 4rem;display:grid;gap:0 3rem;
grid-template-columns:12.5rem minmax(0,1fr)}
header{grid-column:1/-1;border-bottom:1px solid var(--rule);margin-bottom:1.75rem;padding-bottom:1.25rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .35rem;letter-spacing:-.015em}
h2{font-size:1.35rem;line-height:1.25;margin:0 0 .75rem;letter-spacing:-.01em}
h3{font-size:1.05rem;margin:2rem 0 .5rem}
h4{font-size:1rem;margin:1.5rem 0 .5rem}
p{margin:0 0 1rem;max-width:44rem}
.lead{color:var(--muted);margin:0}
nav{font-size:.875rem}
nav>div{position:sticky;top:1.5rem}
nav p{margin:0 0 .5rem;font-weight:600;font-size:.875rem}
nav ol{list-style:none;margin:0;padding:0;border-left:2px solid var(--rule)}
nav a{display:block;padding:.28rem 0 .28rem .8rem;color:var(--muted);text-decoration:none;line-height:1.35}
nav a:hover{color:var(--ink);text-decoration:underline}
main{min-width:0}
main>section{margin:0 0 3rem;padding-top:.25rem}
.notice{background:var(--warn);border-left:4px solid var(--warn-rule);padding:.7rem 1rem;border-radius:0 6px 6px 0}
dl{display:grid;grid-template-columns:minmax(7rem,max-content) minmax(0,1fr);gap:.3rem 1.25rem;margin:0 0 1.25rem;
font-size:.925rem}
dt{color:var(--muted)}
dd{margin:0}
code,.command{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;font-size:.9em}
figure{margin:1.25rem 0 1.75rem}
figcaption{color:var(--muted);font-size:.875rem;line-height:1.5;max-width:44rem;margin-top:.4rem}
.scroll{overflow-x:auto;border:1px solid var(--rule);border-radius:8px;
background:linear-gradient(to right,var(--paper) 30%,transparent) left/40px 100% no-repeat local,
linear-gradient(to left,var(--paper) 30%,transparent) right/40px 100% no-repeat local,
linear-gradient(to right,rgba(90,100,115,.35),transparent) left/14px 100% no-repeat scroll,
linear-gradient(to left,rgba(90,100,115,.35),transparent) right/14px 100% no-repeat scroll}
.hint{display:none;color:var(--muted);font-size:.8rem;margin:0 0 .3rem}
.title{font-weight:600;font-size:.925rem;margin:0 0 .4rem;max-width:none}
table{border-collapse:collapse;width:100%;font-size:.9rem;line-height:1.35}
th,td{padding:.5rem .7rem;text-align:right;vertical-align:top;border-bottom:1px solid var(--rule);white-space:nowrap}
thead th{font-weight:600;white-space:normal;overflow-wrap:normal;min-width:4rem;
color:var(--muted);font-size:.82rem;vertical-align:bottom;border-bottom-width:2px}
tbody tr:last-child>*{border-bottom:0}
tbody th,thead th.name{text-align:left;white-space:normal;min-width:8rem;max-width:19rem}
tbody th{font-weight:500}
thead th.tracker{overflow-wrap:anywhere;min-width:6.5rem;max-width:14rem}
.who{display:inline-flex;align-items:baseline;min-width:0;text-align:left}
td.best{font-weight:700}
td.heat{background:rgba(var(--heat),var(--strength))}
.detail{display:block;color:var(--muted);font-size:.78rem;font-weight:400}
.heat .detail{color:inherit}
.mark{display:inline-block;border:1px solid var(--rule);border-radius:99px;padding:0 .5rem;margin-left:.4rem;
font-size:.72rem;color:var(--muted);white-space:nowrap;font-weight:400}
.notes{color:var(--muted);font-size:.85rem;margin:.5rem 0 0;padding-left:1.1rem;max-width:44rem}
svg.key{width:.8em;height:.8em;margin-right:.45em;overflow:visible;flex:none}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1.3rem;padding:0;margin:.35rem 0 0;font-size:.85rem}
.legend li{min-width:0}
.wide svg,.narrow svg{display:block;width:100%;height:auto}
.chart .wide{max-width:50rem}
.chart .narrow{display:none;max-width:32rem}
.chart text{font-size:12px;fill:var(--ink)}
.chart .tick{fill:var(--muted);font-size:11.5px}
.chart .name{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
.chart .axis{fill:var(--muted)}
.grid{stroke:var(--rule);stroke-width:1}
.base{stroke:var(--muted);stroke-width:1}
.range{fill:var(--soft)}
.curve{fill:none;stroke:var(--c);stroke-width:2.25;stroke-linejoin:round}
.band{fill:var(--c);opacity:.13}
.leader{fill:none;stroke:var(--c);stroke-width:1}
.whisker{stroke:var(--c,var(--muted));stroke-width:1.5}
.sign{fill:var(--c);stroke:var(--paper);stroke-width:1.2}
.bar{fill:var(--c)}
.faint{fill:var(--c);opacity:.2}
.gallery{display:grid;grid-template-columns:repeat(auto-fill,minmax(150px,1fr));gap:1rem .8rem;padding:0;
margin:0 0 2rem;list-style:none}
.gallery figure{margin:0}
.gallery img{display:block;width:100%;height:auto;border-radius:5px;background:var(--soft)}
.gallery figcaption{font-size:.78rem;line-height:1.4;margin-top:.3rem}
summary{cursor:pointer;font-weight:600;padding:.3rem 0}
footer{grid-column:1/-1;color:var(--muted);font-size:.85rem;border-top:1px solid var(--rule);padding-top:1rem}
@media (max-width:960px){.page{display:block;padding:1.25rem 1rem 3rem}
nav{margin-bottom:2rem}nav>div{position:static}nav ol{columns:2 10rem;column-gap:1rem;border:0}
nav a{padding:.35rem 0;break-inside:avoid}}
@media screen and (max-width:720px){h1{font-size:1.5rem}h2{font-size:1.2rem}.hint{display:block}
.chart .wide{display:none}.chart .narrow{display:block}
dl{grid-template-columns:6.2rem minmax(0,1fr);gap:.35rem .8rem}
tbody th,thead th.name{position:sticky;left:0;background:var(--paper);min-width:8.2rem;max-width:8.2rem;
box-shadow:1px 0 0 var(--rule)}
th,td{padding:.45rem .55rem}
.gallery{grid-template-columns:repeat(2,minmax(0,1fr))}}
@media screen and (min-width:721px){.legend.when-narrow{display:none}}
@media print{body{font-size:10.5pt}.page{display:block;max-width:none;padding:0}nav,.skip,.hint{display:none}
.scroll{overflow:visible;border:0;background:none}table{font-size:8.5pt}th,td{padding:.25rem .35rem}
figure,tr{break-inside:avoid}h2,h3{break-after:avoid}.bar,.band,.heat,.sign{print-color-adjust:exact;
-webkit-print-color-adjust:exact}.gallery{grid-template-columns:repeat(4,1fr)}}
"""
