from openai import OpenAI

client = OpenAI()

quote = client.post(
    "/videos",
    cast_to=object,
    body={"model": "vidB-2", "prompt": "A whale", "seconds": "4", "size": "1280x720", "dry_run": True},
)
print(quote["total_micros"] / 1_000_000, quote["currency"], quote["fits"])
