import { defineTexts } from '../i18n/texts.ts'
/** The tabs of the playground. */
import type { PageTab } from '../shell/page.tsx'

export const playgroundTexts = defineTexts<typeof import('./texts.en.ts').texts>({
  en: () => import('./texts.en.ts'),
  zh: () => import('./texts.zh.ts'),
})

export const playgroundTabs = (texts: typeof import('./texts.en.ts').texts): PageTab[] => [
  { label: texts.video, to: '/playground/video' },
  { label: texts.speech, to: '/playground/speech' },
  { label: texts.transcription, to: '/playground/transcription' },
  { label: texts.chat, to: '/playground/chat' },
]
