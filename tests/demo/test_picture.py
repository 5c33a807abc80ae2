"""Pictures of every kind a person may have, and files that are none."""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("PIL")

from PIL import Image

from tenferro_wgpu.demo.picture import PictureError, load_picture, sample_picture, save_panels

RAMP = np.linspace(0, 255, 24 * 40).reshape(24, 40)

PICTURES = {
    "grey.png": (Image.fromarray(RAMP.astype(np.uint8)), 1),
    "sixteen_bit.png": (Image.fromarray((RAMP * 200).astype(np.uint16)), 1),
    "float.tiff": (Image.fromarray(RAMP.astype(np.float32)), 1),
    "black_and_white.png": (Image.fromarray(RAMP.astype(np.uint8)).convert("1"), 1),
    "colour.jpg": (Image.fromarray(RAMP.astype(np.uint8)).convert("RGB"), 3),
    "palette.gif": (Image.fromarray(RAMP.astype(np.uint8)).convert("RGB").convert("P"), 3),
    "transparent.png": (Image.fromarray(RAMP.astype(np.uint8)).convert("RGBA"), 3),
    "transparent_grey.png": (Image.fromarray(RAMP.astype(np.uint8)).convert("LA"), 3),
    "print.jpg": (Image.fromarray(RAMP.astype(np.uint8)).convert("CMYK"), 3),
}


@pytest.mark.parametrize("name", PICTURES)
def test_every_kind_of_picture_is_read(name: str, tmp_path: Path) -> None:
    picture, channels = PICTURES[name]
    picture.save(tmp_path / name)
    values = load_picture(tmp_path / name, 100)
    assert values.shape == (channels, 24, 40)
    assert values.dtype == np.float32
    assert values.min() >= 0
    assert values.max() <= 1
    # A ramp from black to white, whatever the file's depth.
    assert values[:, -1, -1].min() > 0.9
    assert values[:, 0, 0].max() < 0.1


@pytest.mark.parametrize("size", [(1, 1), (1, 500), (700, 3), (320, 200)])
def test_every_size_is_read_and_none_is_enlarged(size: tuple[int, int], tmp_path: Path) -> None:
    Image.new("RGB", size, "teal").save(tmp_path / "picture.png")
    _, height, width = load_picture(tmp_path / "picture.png", 256).shape
    assert max(width, height) == min(max(size), 256)
    assert min(width, height) >= 1


def test_the_camera_s_rotation_is_applied(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn a quarter
    Image.new("RGB", (30, 20), "teal").save(tmp_path / "turned.jpg", exif=exif)
    assert load_picture(tmp_path / "turned.jpg", 100).shape == (3, 30, 20)


def test_transparency_is_shown_on_white(tmp_path: Path) -> None:
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(tmp_path / "nothing.png")
    assert load_picture(tmp_path / "nothing.png", 100).min() == 1


def unreadable_files(folder: Path) -> dict[str, Path]:
    Image.fromarray(RAMP.astype(np.uint8)).save(folder / "whole.png")
    whole = (folder / "whole.png").read_bytes()
    (folder / "cut.png").write_bytes(whole[: len(whole) // 2])
    (folder / "text.jpg").write_text("not a picture")
    (folder / "empty.png").write_bytes(b"")
    return {
        "a cut file": folder / "cut.png",
        "text": folder / "text.jpg",
        "an empty file": folder / "empty.png",
        "a missing file": folder / "missing.png",
        "a folder": folder,
    }


@pytest.mark.parametrize(
    "kind", ["a cut file", "text", "an empty file", "a missing file", "a folder"]
)
def test_an_unreadable_file_gives_one_line(kind: str, tmp_path: Path) -> None:
    path = unreadable_files(tmp_path)[kind]
    with pytest.raises(PictureError) as caught:
        load_picture(path, 100)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_panels_stand_side_by_side(tmp_path: Path) -> None:
    black, white = np.zeros((1, 210, 220), np.float32), np.ones((1, 210, 220), np.float32)
    save_panels([("black", black), ("white", white)], tmp_path / "panels.png")
    sheet = np.asarray(Image.open(tmp_path / "panels.png").convert("L"))
    assert sheet.shape[1] > 2 * 220
    assert (sheet[20:200, 20:220] == 0).all()
    assert (sheet[20:200, 250:450] == 255).all()


def test_the_sample_is_a_colour_photograph() -> None:
    pytest.importorskip("matplotlib")
    assert load_picture(sample_picture(), 64).shape == (3, 64, 55)
