import subprocess

import pytest

from runners.keys import make_key_pair
from runners.ssh import fingerprint


def test_a_pair_is_ed25519_and_openssh_agrees_on_its_halves(tmp_path):
    pair = make_key_pair("benchhub of db1")
    private = tmp_path / "key"
    private.write_text(pair.private_key)
    private.chmod(0o600)
    keygen = subprocess.run(["ssh-keygen", "-y", "-f", str(private)], capture_output=True, text=True, check=True)
    assert keygen.stdout.split()[:2] == pair.public_key.split()[:2]
    assert pair.public_key.startswith("ssh-ed25519 ") and pair.public_key.endswith(" benchhub of db1")


def test_two_pairs_differ_and_the_private_half_is_not_shown():
    first, second = make_key_pair("a"), make_key_pair("a")
    assert first.public_key != second.public_key
    assert "PRIVATE" not in repr(first)


def test_a_comment_of_two_lines_cannot_add_a_second_key():
    with pytest.raises(ValueError, match="one printable line"):
        make_key_pair("a\nssh-ed25519 AAAA")


def test_the_fingerprint_is_the_one_that_ssh_keygen_prints(tmp_path):
    pair = make_key_pair("x")
    (tmp_path / "key.pub").write_text(pair.public_key)
    command = ["ssh-keygen", "-l", "-f", str(tmp_path / "key.pub")]
    keygen = subprocess.run(command, capture_output=True, text=True, check=True)
    assert fingerprint(pair.public_key) == keygen.stdout.split()[1]
