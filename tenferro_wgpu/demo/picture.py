"""Pictures in and out: files to float32 arrays of shape (channels, height, width), and back.

Pillow is imported here and nowhere else; nothing here knows about tensors or devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["PictureError", "full_size", "load_picture", "sample_picture", "save_panels"]

Picture = np.ndarray[Any, np.dtype[np.float32]]

#: Panels narrower than this are magnified by a whole factor, so that pixels stay visible,
#: as far as the sheet does not become taller than the second number.
NARROWEST_PANEL = 200
TALLEST_PANEL = 800
MARGIN = 12
CAPTION_HEIGHT = 48
#: Exif's tag for how the camera was held; from this value on it lay on its side.
ORIENTATION_TAG = 0x0112
FIRST_SIDEWAYS = 5


class PictureError(ValueError):
    """A file that cannot be read as a picture; the message is one line for the person."""


def sample_picture() -> Path:
    """The photograph that matplotlib ships: Grace Hopper, a work of the United States Navy."""
    import matplotlib.cbook

    path = matplotlib.cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)
    return Path(str(path))


def load_picture(path: Path, longest_side: int) -> Picture:
    """Reads a picture file, scaled down so that no side exceeds `longest_side`.

    Returns float32 values from 0 to 1 of shape (1, height, width) for a grey picture and
    (3, height, width) for a colour one; transparency is shown on white. Raises PictureError
    if the file cannot be read.
    """
    from PIL import Image, ImageOps

    try:
        with Image.open(path) as opened:
            upright = ImageOps.exif_transpose(opened)
            picture = _plain(upright)
            picture.thumbnail((longest_side, longest_side), Image.Resampling.LANCZOS)
    except FileNotFoundError:
        raise PictureError(f"no such file: {path}") from None
    except IsADirectoryError:
        raise PictureError(f"a folder, not a picture: {path}") from None
    except PermissionError:
        raise PictureError(f"no permission to read {path}") from None
    # A damaged file raises what its decoder happens to meet; Pillow documents no common class.
    except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise PictureError(f"not a readable picture: {path} ({reason})") from None
    values = np.asarray(picture, dtype=np.float32) / np.float32(255)
    if values.ndim == 2:
        return values[np.newaxis]
    return np.ascontiguousarray(values.transpose(2, 0, 1))


def full_size(path: Path) -> tuple[int, int]:
    """Width and height of a picture file that `load_picture` reads, before it is scaled."""
    from PIL import Image

    with Image.open(path) as opened:
        width, height = opened.size
        sideways = opened.getexif().get(ORIENTATION_TAG, 1) >= FIRST_SIDEWAYS
    return (height, width) if sideways else (width, height)


def _plain(picture: Image.Image) -> Image.Image:
    """The picture in 8-bit grey ("L") or colour ("RGB")."""
    from PIL import Image

    if picture.mode.startswith("I") or picture.mode == "F":
        # 16-bit and floating-point greys: the range in use becomes black to white.
        values = np.nan_to_num(np.asarray(picture, dtype=np.float64))
        low, high = float(values.min()), float(values.max())
        scaled = (values - low) * (255.0 / (high - low) if high > low else 0.0)
        return Image.fromarray(scaled.round().astype(np.uint8))
    if picture.mode in ("1", "L"):
        return picture.convert("L")
    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        white = Image.new("RGBA", layer.size, "white")
        return Image.alpha_composite(white, layer).convert("RGB")
    return picture.convert("RGB")


def save_panels(panels: Sequence[tuple[str, Picture]], path: Path) -> None:
    """Writes pictures of one shape side by side, captions below, as the file's ending says."""
    from PIL import Image, ImageDraw, ImageFont

    _, height, width = panels[0][1].shape
    factor = max(1, min(-(-NARROWEST_PANEL // width), TALLEST_PANEL // height))
    font = ImageFont.load_default(size=14)
    size = (
        MARGIN + len(panels) * (factor * width + MARGIN),
        2 * MARGIN + factor * height + CAPTION_HEIGHT,
    )
    sheet = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(sheet)
    for position, (caption, values) in enumerate(panels):
        left = MARGIN + position * (factor * width + MARGIN)
        panel = _to_image(values).resize(
            (factor * width, factor * height), resample=Image.Resampling.NEAREST
        )
        sheet.paste(panel, (left, MARGIN))
        draw.multiline_text((left, MARGIN + factor * height + 4), caption, fill="black", font=font)
    sheet.save(path, quality=95)


def _to_image(values: Picture) -> Image.Image:
    from PIL import Image

    levels = (np.clip(values, 0, 1) * 255 + 0.5).astype(np.uint8)
    if len(levels) == 1:
        return Image.fromarray(levels[0]).convert("RGB")
    return Image.fromarray(np.ascontiguousarray(levels.transpose(1, 2, 0)))
