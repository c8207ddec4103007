"""Prints what the tensorboard package reads from a folder of event files, one line an item."""

import io
import struct
import sys
import zlib

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

#Without a limit the accumulator keeps a sample of the events only.
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "images": 0, "histograms": 0})
events.Reload()
for tag in sorted(events.Tags()["scalars"]):
    for e in events.Scalars(tag):
        print("scalar", tag, e.step, "%.9g" % e.value)
for tag in sorted(events.Tags()["images"]):
    for e in events.Images(tag):
        width, height, depth, color = struct.unpack(">IIBB", e.encoded_image_string[16:26])
        print("image", tag, e.step, e.height, e.width, "png", height, width, depth, color)
for tag in sorted(events.Tags()["histograms"]):
    for e in events.Histograms(tag):
        h = e.histogram_value
        bins = [(left, n) for left, n in zip(h.bucket_limit, h.bucket) if n]
        print("histogram", tag, e.step, h.min, h.max, h.num, h.sum, h.sum_squares, len(h.bucket), len(bins))
        for limit, n in bins:
            print("bin %.6g %g" % (limit, n))
