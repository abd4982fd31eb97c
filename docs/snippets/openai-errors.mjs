import OpenAI from 'openai'

const client = new OpenAI({
  apiKey: process.env.KINORA_API_KEY,
  baseURL: `${process.env.KINORA_URL}/openai/v1`,
})

try {
  await client.videos.create({ model: 'vidB-2', prompt: 'A whale', seconds: '11', size: '1280x720' })
} catch (error) {
  if (!(error instanceof OpenAI.APIError)) throw error
  console.log(error.status, error.code, error.param, error.requestID)
}
