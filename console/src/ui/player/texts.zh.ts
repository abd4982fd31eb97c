import type { texts as english } from './texts.en.ts'

export const texts: typeof english = {
  play: '播放',
  pause: '暂停',
  mute: '静音',
  unmute: '取消静音',
  seek: '播放位置',
  rate: (rate) => `速度 ${rate}×`,
  fullscreen: '全屏',
  leaveFullscreen: '退出全屏',
  position: (at, of) => `${at}，共 ${of}`,
  failed: '无法播放此视频，可能已过期。',
  keys: '空格键播放，方向键移动一秒，逗号和句号移动一帧，m 静音，f 全屏。',
}
