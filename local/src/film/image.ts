import { open } from 'node:fs/promises'

import sharp, { type Sharp } from 'sharp'

import { RenderFailure } from '../ffmpeg/render-failure.ts'

const pixelLimit = 40e6

type ImageUse = 'reference' | 'character'

/** Decodes an uploaded image, upright and in sRGB, and passes it to `change`. */
export async function decodeImage<T>(
  file: string,
  use: ImageUse,
  change: (image: Sharp) => Promise<T>,
): Promise<T> {
  if (!(await looksLikeImage(file))) {
    throw new RenderFailure('invalid_image', `The ${use} is not a PNG, JPEG, WebP or GIF image.`)
  }
  try {
    return await change(
      sharp(file, { limitInputPixels: pixelLimit, failOn: 'error', pages: 1 })
        .autoOrient()
        .toColourspace('srgb'),
    )
  } catch (error) {
    throw new RenderFailure('invalid_image', `The ${use} image could not be decoded.`, {
      detail: String(error),
      cause: error,
    })
  }
}

/** Crops the image to `size` around its most salient part. */
export async function cropReference(
  reference: string,
  size: { width: number; height: number },
  file: string,
): Promise<void> {
  await decodeImage(reference, 'reference', (image) =>
    image
      .resize(size.width, size.height, { fit: 'cover', position: 'attention' })
      .flatten({ background: '#000000' })
      .png({ compressionLevel: 1 })
      .toFile(file),
  )
}

/** sharp also reads SVG, PDF and other formats, so only these four are passed to it. */
async function looksLikeImage(file: string): Promise<boolean> {
  const handle = await open(file, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(12), 0, 12, 0)
    const start = buffer.subarray(0, bytesRead).toString('latin1')
    return (
      start.startsWith('\x89PNG\r\n\x1a\n') ||
      start.startsWith('\xff\xd8\xff') ||
      start.startsWith('GIF87a') ||
      start.startsWith('GIF89a') ||
      (start.startsWith('RIFF') && start.slice(8, 12) === 'WEBP')
    )
  } finally {
    await handle.close()
  }
}
