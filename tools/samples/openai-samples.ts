// Generated from the code by `npm run generate`. Do not edit.
import OpenAI from 'openai'
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'

declare const process: { env: { KINORA_URL: string; KINORA_API_KEY: string } }

export const createVideo = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const video = await client.videos.create({
    model: 'vidB-2',
    prompt: 'A whale swims through a calm sea',
    seconds: '4',
  })
  console.log(video.status)
}

export const getVideo = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const video = await client.videos.retrieve('vidB-2:1767225600-00000000000001')
  console.log(video.status)
}

export const listVideos = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const page = await client.videos.list({
    limit: 20,
  })
  console.log(page.data)
}

export const deleteVideo = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const deleted = await client.videos.delete('vidB-2:remix-1767225600-00000000000003')
  console.log(deleted.deleted)
}

export const getVideoContent = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const content = await client.videos.downloadContent('vidB-2:1767225600-00000000000001')
  await writeFile('video.mp4', Buffer.from(await content.arrayBuffer()))
}

export const remixVideo = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const video = await client.videos.remix('vidB-2:1767225600-00000000000001', {
    prompt: 'The same whale at night',
  })
  console.log(video.status)
}

export const editVideo = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const video = await client.videos.edit({
    prompt: 'The same whale in the rain',
    video: { id: 'vidB-2:1767225600-00000000000001' },
  })
  console.log(video.status)
}

export const completeChat = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const completion = await client.chat.completions.create({
    model: 'chat-4o-audio-preview',
    messages: [{ role: 'user', content: 'Say hello in one sentence.' }],
  })
  console.log(completion.choices)
}

export const createTranscription = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const transcript = await client.audio.transcriptions.create({
    model: 'asr-1',
    file: createReadStream('speech.mp3'),
  })
  console.log(transcript.text)
}

export const createTranslation = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const transcript = await client.audio.translations.create({
    model: 'asr-1',
    file: createReadStream('speech.mp3'),
  })
  console.log(transcript.text)
}

export const createSpeech = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const speech = await client.audio.speech.create({
    model: 'chat-4o-mini-tts-2025-12-15',
    input: 'The meeting starts at nine. Please bring the report.',
    voice: 'alloy',
  })
  await writeFile('speech.mp3', Buffer.from(await speech.arrayBuffer()))
}

export const createWebhookEndpoint = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const endpoint = await client.webhooks.create({
    url: 'https://example.com/webhooks',
    name: 'Production',
    event_types: ['video.completed', 'video.failed'],
  })
  console.log(endpoint)
}

export const listWebhookEndpoints = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const page = await client.webhooks.list()
  console.log(page.data)
}

export const getWebhookEndpoint = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const endpoint = await client.webhooks.retrieve('00000000-0000-7000-8000-000000000017')
  console.log(endpoint)
}

export const updateWebhookEndpoint = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const endpoint = await client.webhooks.update('00000000-0000-7000-8000-000000000017', {
    name: 'Production',
  })
  console.log(endpoint)
}

export const deleteWebhookEndpoint = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const deleted = await client.webhooks.delete('00000000-0000-7000-8000-000000000017')
  console.log(deleted)
}

export const rotateWebhookEndpointSecret = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const endpoint = await client.webhooks.rotateSecret('00000000-0000-7000-8000-000000000017')
  console.log(endpoint)
}

export const testWebhookEndpoint = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const test = await client.webhooks.test('00000000-0000-7000-8000-000000000017', {
    event_type: 'video.completed',
  })
  console.log(test)
}

export const listModels = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const page = await client.models.list()
  console.log(page.data)
}

export const getModel = async () => {
  const client = new OpenAI({
    apiKey: process.env.KINORA_API_KEY,
    baseURL: `${process.env.KINORA_URL}/openai/v1`,
  })
  const model = await client.models.retrieve('vidB-2')
  console.log(model)
}
