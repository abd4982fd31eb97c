import sharp from 'sharp'

/** The largest difference per channel between a background pixel and the background colour. */
const tolerance = 30
const clearAlpha = 128

/**
 * The subject of an image without its background, if the background is transparent or plain. Undefined for all other
 * images, because a guess would damage them.
 */
export async function cutOut(image: Buffer): Promise<Buffer | undefined> {
  const { data, info } = await sharp(image).ensureAlpha().raw().toBuffer({ resolveWithObject: true })
  const { width, height } = info
  const count = width * height
  let clear = 0
  for (let pixel = 0; pixel < count; pixel++) if (data[pixel * 4 + 3]! < clearAlpha) clear++
  if (clear > count * 0.05) return await sharp(image).trim().png().toBuffer()

  const border = borderPixels(width, height)
  const background = [0, 1, 2].map((channel) => medianOf(border.map((pixel) => data[pixel * 4 + channel]!)))
  const belongs = (pixel: number) =>
    [0, 1, 2].every((channel) => Math.abs(data[pixel * 4 + channel]! - background[channel]!) <= tolerance)
  const plainShare = border.filter(belongs).length / border.length
  if (plainShare < 0.94) return undefined

  // From the edge inwards, so that the same colour inside the subject stays.
  const alpha = Buffer.alloc(count, 255)
  const pending = border.filter(belongs)
  let removed = 0
  for (let pixel = pending.pop(); pixel !== undefined; pixel = pending.pop()) {
    if (alpha[pixel] === 0) continue
    alpha[pixel] = 0
    removed++
    const column = pixel % width
    if (column > 0 && belongs(pixel - 1)) pending.push(pixel - 1)
    if (column < width - 1 && belongs(pixel + 1)) pending.push(pixel + 1)
    if (pixel >= width && belongs(pixel - width)) pending.push(pixel - width)
    if (pixel < count - width && belongs(pixel + width)) pending.push(pixel + width)
  }
  if (removed < count * 0.08 || removed > count * 0.94) return undefined
  const soft = await sharp(alpha, { raw: { width, height, channels: 1 } })
    .blur(1)
    // Shrinks the mask slightly; otherwise a fringe of the background would stay.
    .linear(1.8, -204)
    .toColourspace('b-w')
    .raw()
    .toBuffer()
  for (let pixel = 0; pixel < count; pixel++) data[pixel * 4 + 3] = soft[pixel]!
  const cut = await sharp(data, { raw: { width, height, channels: 4 } })
    .png()
    .toBuffer()
  return await sharp(cut).trim().png().toBuffer()
}

function borderPixels(width: number, height: number): number[] {
  const pixels: number[] = []
  for (let x = 0; x < width; x++) pixels.push(x, (height - 1) * width + x)
  for (let y = 1; y < height - 1; y++) pixels.push(y * width, y * width + width - 1)
  return pixels
}

function medianOf(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0
}
