/** Receivers that verify the signature of a delivery. */
const openai = `import OpenAI from 'openai'

const client = new OpenAI({ webhookSecret: process.env.WEBHOOK_SECRET })

// In your handler, with the raw body. Throws if the signature is wrong.
const event = await client.webhooks.unwrap(body, headers)
console.log(event.type, event.data.id)`

const python = `import os
from openai import OpenAI

client = OpenAI(webhook_secret=os.environ["WEBHOOK_SECRET"])

# In your handler, with the raw body. Raises if the signature is wrong.
event = client.webhooks.unwrap(body, headers)
print(event.type, event.data.id)`

const own = `import { verifyWebhook } from '@kinora/client'

const secret = process.env.WEBHOOK_SECRET

// In your handler, with the raw body. Throws if the signature is wrong.
const event = await verifyWebhook(body, headers, { secret })
console.log(event.type, event.data)`

export const verifySnippets = [
  { name: 'openai', text: openai },
  { name: 'openai (Python)', text: python },
  { name: '@kinora/client', text: own },
]
