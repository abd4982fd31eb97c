// Generated from docs/client.md by `npm run generate`. Do not edit.
import { KinoraAdmin } from '@kinora/client/admin'

declare const kinora: import('@kinora/client').Kinora
declare const process: { env: { OPERATOR_KEY: string; WEBHOOK_SECRET: string } }
declare const id: string
declare const signal: AbortSignal

export const example1 = async () => {
  await kinora.videos.remix(id, { prompt: 'The same at night' }, { idempotencyKey: 'order-4711', signal })
}

export const example2 = async () => {
  const admin = new KinoraAdmin({ apiKey: process.env.OPERATOR_KEY })
  const account = await admin.accounts.create({ name: 'Studio' })
}
