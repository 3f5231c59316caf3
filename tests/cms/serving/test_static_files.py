"""Static files of a deployed site have digests in their names."""

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
