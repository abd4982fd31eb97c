from pathlib import Path

from openai import OpenAI

client = OpenAI()

video = client.videos.create(
    model="vidB-2",
    prompt="The camera moves slowly towards the island",
    seconds="4",
    size="1280x720",
    input_reference=Path("island.png"),
    extra_headers={"Idempotency-Key": "order-4711"},
    extra_body={"metadata": {"team": "films"}},
)
print(video.id, video.metadata)
