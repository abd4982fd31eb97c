import type { texts as english } from './texts.en.ts'

export const texts: typeof english = {
  title: '演练场',
  video: '视频',
  speech: '语音合成',
  transcription: '语音转写',
  chat: '音频对话',
}
