import type { texts as english } from './texts.en.ts'

export const texts: typeof english = {
  play: (name) => `播放${name}`,
  pause: (name) => `暂停${name}`,
  position: (position, duration) => `${position} / ${duration}`,
  model: '模型',
  anyPrice: '未设置价格',
  free: '免费',
  perMinute: (price) => `每分钟 ${price}`,
  perMillion: (price) => `每百万字符 ${price}`,
  noModels: { title: '没有可用的模型。', text: '当前密钥无权使用此类模型，或没有供应商提供。' },
  balanceAfter: (amount) => `扣费后余额 ${amount}`,
  payg: {
    title: '当前密钥使用订阅额度，而音频需要按量付费密钥。',
    text: '请用该账户的按量付费密钥登录。运营人员可以创建。',
    action: '换用其他密钥',
  },
  microphone: {
    denied: '浏览器不允许此页面使用麦克风，请在页面设置中允许。',
    missing: '没有检测到麦克风。',
    insecure: '浏览器只在 HTTPS 页面或本机上允许录音，请改为选择文件。',
  },
  recording: (time) => `录音中，${time}`,
  level: '音量',
  stopRecording: '停止录音',
  discard: '丢弃',
}
