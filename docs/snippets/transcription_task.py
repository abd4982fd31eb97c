import time
from pathlib import Path

from openai import OpenAI

client = OpenAI()

task = client.post(
    "/audio/transcription-tasks",
    cast_to=object,
    body={"model": "asr-1", "language": "en"},
    files={"file": Path("ships.mp3")},
    options={"headers": {"Content-Type": "multipart/form-data"}},
)
while task["status"] in ("pending", "processing"):
    time.sleep(2)
    task = client.get(f"/audio/transcription-tasks/{task['id']}", cast_to=object)
transcript = client.get(f"/audio/transcription-tasks/{task['id']}/transcript", cast_to=object)
print(transcript["text"])
