import type { texts as english } from './texts.en.ts'

export const texts: typeof english = {
  states: { healthy: '正常', slow: '缓慢', failing: '故障', none: '无调用' },
  strip: (name) => `${name} 的每分钟健康状况`,
  reading: (time, state, calls, errors, p95) =>
    `${time}：${state}，调用 ${calls} 次，失败 ${errors} 次${p95 === undefined ? '' : `，p95 ${p95}`}`,
  readingNone: (time) => `${time}：无调用`,
  from: (minutes) => `${minutes} 分钟前`,
  to: '现在',
  answered: (answered, calls) => `${calls} 次调用中有 ${answered} 次得到应答。因内容被拒绝也算应答。`,
}
