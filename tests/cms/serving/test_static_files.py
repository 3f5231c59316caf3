"""Static files of a deployed site have digests in their names."""

from django.core.files.base import ContentFile

from cms.serving.static_files import HashedFilesStorage


def test_imports_of_scripts_have_digests(tmp_path):
    (tmp_path / "app.js").write_text('import { one } from "./number.js";\n')
    (tmp_path / "number.js").write_text("export const one = 1;\n")
    storage = HashedFilesStorage(location=tmp_path, base_url="/static/")
    paths = {name: (storage, name) for name in ("app.js", "number.js")}
    hashed = {name: new_name for name, new_name, _ in storage.post_process(paths) if name in paths}
    imported = (tmp_path / hashed["app.js"]).read_text()
    assert imported == f'import {{ one }} from "./{hashed["number.js"]}";\n'
    assert hashed["number.js"] != "number.js"


def test_own_files_are_stored_without_comments(tmp_path):
    storage = HashedFilesStorage(location=tmp_path, base_url="/static/")
    script = b"// @ts-check\n/** Doubles. */\nexport function double(n) {\n  return `${n}  // kept`;\n}\n"
    storage.save("site/double.js", ContentFile(script))
    storage.save("site/box.css", ContentFile(b"/* A box. */\n.box {\n  & :hover {\n    color: red;\n  }\n}\n"))
    storage.save("vendor/other.js", ContentFile(script))
    assert (tmp_path / "site/double.js").read_text() == "export function double(n){return`${n}  // kept`;}"
    assert (tmp_path / "site/box.css").read_text() == ".box {\n& :hover {\ncolor: red;\n}\n}"
    assert (tmp_path / "vendor/other.js").read_bytes() == script


def test_files_with_digests_have_the_content_of_their_originals(tmp_path):
    storage = HashedFilesStorage(location=tmp_path, base_url="/static/")
    storage.save("site/box.css", ContentFile(b"/* A box. */\n.box { color: red; }\n"))
    [(_, hashed, _)] = [
        done for done in storage.post_process({"site/box.css": (storage, "site/box.css")}) if done[0] == "site/box.css"
    ]
    assert (tmp_path / hashed).read_text() == ".box { color: red; }"
