/**
 * The program that decodes one uploaded image in the sandbox. It reads the file from its standard input and writes a line
 * with the size, and then the pixels.
 */
import sharp from 'sharp'

const pixelsMax = 40e6
/** The longest side of a film is shorter. */
const shorterSideMax = 3072

const decoder = sharp({ limitInputPixels: pixelsMax, failOn: 'error', pages: 1 })
  .autoOrient()
  .toColourspace('srgb')
  .resize({ width: shorterSideMax, height: shorterSideMax, fit: 'outside', withoutEnlargement: true })
  .raw({ depth: 'uchar' })
process.stdin.pipe(decoder)
const { data, info } = await decoder.toBuffer({ resolveWithObject: true })
process.stdout.write(`${info.width} ${info.height} ${info.channels}\n`)
process.stdout.write(data)
