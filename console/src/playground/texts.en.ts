export const texts = {
  title: 'Playground',
  video: 'Video',
  speech: 'Speech',
  transcription: 'Transcription',
  chat: 'Audio chat',
  code: {
    title: 'Code of this form',
    label: 'Language',
    languages: {
      ...{ curl: 'curl', typescript: 'TypeScript', python: 'Python' },
      ...{ client: 'Kinora client', cli: 'CLI' },
    },
    copyName: (language: string) => `the ${language} code`,
    keyHelp: 'KINORA_URL and KINORA_API_KEY are this address and a key of yours.',
  },
}
