"""Links of the API reference that lead nowhere are found."""

import pytest
from docs.check_links import broken_links, main


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "index.html").write_text('<h1 id="top"><a href="below/page.html#part"></a><a href="#top"></a>')
    (tmp_path / "below" / "page.html").write_text('<a href="../index.html" id="part"></a><a href="https://a.b/c"></a>')
    return tmp_path


def test_sound_links_pass(folder):
    assert broken_links(folder) == []
    main(str(folder))


@pytest.mark.parametrize("link", ["gone.html", "#nothing", "below/page.html#nothing"])
def test_a_link_to_nothing_ends_with_its_page_and_text(folder, link):
    (folder / "other.html").write_text(f'<a href="{link}"></a>')
    with pytest.raises(SystemExit, match=f"other.html: {link}"):
        main(str(folder))


def test_a_folder_without_pages_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="no pages"):
        main(str(tmp_path))
