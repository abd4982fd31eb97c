// Generated from client/README.md by `npm run generate`. Do not edit.
import { Kinora } from '@kinora/client'
import { isKinoraError } from '@kinora/client'

declare const kinora: import('@kinora/client').Kinora
declare const process: { env: { OPERATOR_KEY: string; WEBHOOK_SECRET: string } }
declare const body: string
declare const request: { headers: Headers }

export const example1 = async () => {
  const kinora = new Kinora()
  const video = await kinora.videos.run({
    model: 'vidB-2',
    prompt: 'A whale swimming through a calm ocean at sunset',
    seconds: 10,
    size: '1280x720',
    onProgress: ({ status, progress }) => console.log(status, progress),
  })
  await video.save('whale.mp4')
}

export const example2 = async () => {
  const speech = await kinora.speech.create({
    model: 'chat-4o-mini-tts-2025-12-15',
    voice: 'nova',
    input: 'The ships left before first light.',
  })
  await speech.save('ships.mp3')
  const { text } = await kinora.transcriptions.create({ model: 'asr-1', file: { path: 'ships.mp3' } })
}

export const example3 = async () => {
  for await (const video of kinora.videos.list()) console.log(video.id, video.status)
}

export const example4 = async () => {
  try {
    await kinora.videos.list({ limit: 1000 })
  } catch (error) {
    if (!isKinoraError(error, 'invalid_parameter')) throw error
    console.log(error.param, error.hint, error.requestId)
  }
}

export const example5 = async () => {
  const event = await kinora.webhooks.verify(body, request.headers, { secret: process.env.WEBHOOK_SECRET })
}
