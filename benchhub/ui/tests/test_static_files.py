"""Static files are compressed before anybody asks for them."""

import gzip

import brotli

from benchhub.ui.static_files import QuickCompressor


def test_a_script_is_there_in_brotli_and_in_gzip_and_a_picture_in_neither(tmp_path):
    script, picture = tmp_path / "charts.js", tmp_path / "logo.png"
    script.write_bytes(b"draw(1);\n" * 1000)
    picture.write_bytes(b"pixel" * 1000)
    compressor = QuickCompressor(quiet=True)
    assert sorted(compressor.compress(str(script))) == [f"{script}.br", f"{script}.gz"]
    assert brotli.decompress((tmp_path / "charts.js.br").read_bytes()) == script.read_bytes()
    assert gzip.decompress((tmp_path / "charts.js.gz").read_bytes()) == script.read_bytes()
    assert compressor.should_compress("page.css")
    assert not compressor.should_compress(str(picture))
