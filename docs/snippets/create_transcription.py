from pathlib import Path

from openai import OpenAI

client = OpenAI()

subtitles = client.audio.transcriptions.create(
    model="whisper-1",
    file=Path("ships.mp3"),
    language="en",
    response_format="srt",
)
print(subtitles)

details = client.audio.transcriptions.create(
    model="whisper-1",
    file=Path("ships.mp3"),
    language="en",
    response_format="verbose_json",
    timestamp_granularities=["segment"],
)
for segment in details.segments:
    print(segment.start, segment.end, segment.text)
