// Generated from ai-sdk/README.md by `npm run generate`. Do not edit.
import { experimental_generateVideo as generateVideo } from 'ai'
import { kinora } from '@kinora/ai-sdk'

export const example1 = async () => {
  const { video } = await generateVideo({
    model: kinora.video('vidB-2'),
    prompt: 'A whale swimming through a calm ocean at sunset',
    duration: 10,
    aspectRatio: '16:9',
  })
}
