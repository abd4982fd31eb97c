/**
 * How the audio of a recording is decoded, here and by the built-in provider: all of its samples, with silence in the gaps
 * of its timeline. A timestamp before the end of the previous samples is ignored, because ffmpeg would otherwise drop
 * samples, and a decoder that ignores timestamps would not.
 */
const withoutOverlaps = "asetpts='st(1,max(PTS,ld(0)));st(0,ld(1)+NB_SAMPLES/SR/TB);ld(1)'"

/** A filter of ffmpeg with output at this sample rate. */
export const wholeAudioAt = (sampleRate: number): string =>
  `${withoutOverlaps},aresample=${sampleRate}:async=1`
