import asyncio

from openai import AsyncOpenAI

prompts = ["A lighthouse in a storm", "Snow falling on a quiet village"]


async def make(client: AsyncOpenAI, number: int, prompt: str) -> str:
    video = await client.videos.create_and_poll(
        model="vidB-2", prompt=prompt, seconds="4", size="1280x720"
    )
    content = await client.videos.download_content(video.id)
    file = f"video-{number}.mp4"
    content.write_to_file(file)
    return file


async def main():
    async with AsyncOpenAI() as client:
        jobs = (make(client, number, prompt) for number, prompt in enumerate(prompts))
        for file in await asyncio.gather(*jobs):
            print(file)


asyncio.run(main())
