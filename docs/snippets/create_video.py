from openai import OpenAI

client = OpenAI()

video = client.videos.create_and_poll(
    model="vidB-2",
    prompt="A whale swimming through a calm ocean at sunset",
    seconds="4",
    size="1280x720",
)
if video.error is not None:
    raise SystemExit(f"{video.error.code}: {video.error.message}")
client.videos.download_content(video.id).write_to_file("whale.mp4")
print(video.status, video.id)
