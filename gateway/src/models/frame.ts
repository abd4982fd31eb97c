interface Frame {
  width: number
  height: number
}

const landscape = { small: { width: 1280, height: 720 }, large: { width: 1920, height: 1080 } }

/** The frame size for a quality (720p or 1080p) and an orientation. */
export const frameOf = (
  quality: 'small' | 'large',
  orientation: 'landscape' | 'portrait',
): Frame & { size: string } => {
  const { width: long, height: short } = landscape[quality]
  const frame = orientation === 'landscape' ? { width: long, height: short } : { width: short, height: long }
  return { ...frame, size: `${frame.width}x${frame.height}` }
}
