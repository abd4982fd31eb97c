export const texts = {
  play: 'Play',
  pause: 'Pause',
  mute: 'Mute',
  unmute: 'Unmute',
  seek: 'Position',
  rate: (rate: number) => `Speed ${rate}×`,
  fullscreen: 'Full screen',
  leaveFullscreen: 'Leave full screen',
  position: (at: string, of: string) => `${at} of ${of}`,
  failed: 'The video cannot be played. It may have expired.',
  keys: 'Space plays, the arrows move by a second, comma and period by a frame, m mutes, f fills the screen.',
}
