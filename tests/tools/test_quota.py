"""How much room a workspace takes."""

from __future__ import annotations

from pathlib import Path

from tools import beneath, quota


def test_usage_counts_files_folders_and_not_what_links_name(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(b"x" * 1_000_000)
    root = tmp_path / "w"
    (root / "d").mkdir(parents=True)
    (root / "d/f").write_bytes(b"x" * 100_000)
    (root / "l").symlink_to(tmp_path)
    assert 100_000 <= quota.usage(root) < 150_000
    deep = root
    for _ in range(beneath.MAX_DEPTH + 1):
        deep = deep / "d"
        deep.mkdir(exist_ok=True)
    assert quota.usage(root) > quota.QUOTA
