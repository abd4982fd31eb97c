export const texts = {
  title: 'Playground',
  video: 'Video',
  speech: 'Speech',
  transcription: 'Transcription',
  chat: 'Audio chat',
}
