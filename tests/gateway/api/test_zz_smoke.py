import pytest, json
from rest_framework.test import APIClient
from accounts.services import token_create
pytestmark = pytest.mark.django_db

@pytest.fixture
def api(alice, valkey, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    c = APIClient(); c.credentials(HTTP_AUTHORIZATION="Bearer "+token_create(alice)[1]); return c

def test_smoke(api):
    for u in ["me","sessions","approvals","tools","tokens","files"]:
        for s in ["","/"]:
            r=api.get(f"/api/v1/{u}{s}"); print(u, r.status_code, r.content[:300]); assert r.status_code==200
    s=api.post("/api/v1/sessions",{"title":"x"},format="json"); print(s.content)
    i=s.json()["id"]
    m=api.post(f"/api/v1/sessions/{i}/messages/",{"text":"hello","client_id":"a"},format="json"); print(m.status_code,m.content)
    print(api.get(f"/api/v1/sessions/{i}/messages").content)
    print(api.get(f"/api/v1/runs/{m.json()['run']}").content)
    print(api.post(f"/api/v1/messages/{m.json()['message']}/edit",{"text":"a"},format="json").content)
    print(api.post(f"/api/v1/runs/{m.json()['run']}/cancel").content)
    print(api.post(f"/api/v1/messages/{m.json()['message']}/edit",{"text":"a"},format="json").content)
    print(api.patch(f"/api/v1/sessions/{i}",{"titel":1},format="json").content)
    print(api.delete(f"/api/v1/sessions/{i}").status_code)
    from django.core.files.uploadedfile import SimpleUploadedFile
    f=api.post("/api/v1/files",{"file":SimpleUploadedFile("../a b\n.html",b"<b>hi",content_type="text/html")}); print(f.content)
    r=api.get(f"/api/v1/files/{f.json()['id']}/content"); print(r.headers, b"".join(r))
    for u in ["schema/","docs/","docs/?script="]:
        r=api.get("/api/v1/"+u, HTTP_ACCEPT="*/*"); print(r.status_code, r.content[:100])
    print(api.get("/api/v1/nope").content, api.put("/api/v1/me").content)
