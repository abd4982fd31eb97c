import OpenAI from 'openai'

const client = new OpenAI({
  apiKey: process.env.KINORA_API_KEY,
  baseURL: `${process.env.KINORA_URL}/openai/v1`,
})

let video = await client.videos.create({
  model: 'vidB-2',
  prompt: 'A whale swimming through a calm ocean at sunset',
  seconds: '10',
  size: '1280x720',
})
while (video.status === 'queued' || video.status === 'in_progress') {
  await new Promise((resolve) => setTimeout(resolve, 1000))
  video = await client.videos.retrieve(video.id)
}
console.log(video.status, video.video_url)
