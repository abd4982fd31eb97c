import type { texts as english } from './texts.en.ts'

export const texts: typeof english = {
  title: '演练场',
  video: '视频',
  speech: '语音合成',
  transcription: '语音转写',
  chat: '音频对话',
  code: {
    title: '此表单的代码',
    label: '语言',
    languages: {
      ...{ curl: 'curl', typescript: 'TypeScript', python: 'Python' },
      ...{ client: 'Kinora 客户端', cli: '命令行' },
    },
    copyName: (language) => `${language} 代码`,
    keyHelp: 'KINORA_URL 和 KINORA_API_KEY 是本服务的地址和您的密钥。',
  },
}
