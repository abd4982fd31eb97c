import type { texts as english } from './texts.en.ts'

export const texts: typeof english = {
  once: '请立即复制。',
  kept: '服务无法再次显示它。',
  secret: '密文',
  copy: '复制',
  form: '形式',
  saved: '我已保存密文',
  done: '完成',
}
