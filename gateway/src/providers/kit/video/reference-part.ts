import type { ReferenceFile, SourceVideo, VideoJob } from '../../port/video.ts'
import type { FilePart } from '../http/multipart.ts'

const extensions: Record<string, string> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/webp': 'webp',
  'image/gif': 'gif',
}

/** Vendors detect images by file name or by type, so both are sent. */
export function referencePart(name: string, image: ReferenceFile, index: number): FilePart {
  return {
    name,
    filename: `${name === 'character' ? name : 'reference'}-${index + 1}.${extensions[image.contentType] ?? 'bin'}`,
    contentType: image.contentType,
    sizeBytes: image.sizeBytes,
    open: image.open,
  }
}

export function sourcePart(name: string, { contentType, sizeBytes, open }: SourceVideo): FilePart {
  return { name, filename: 'source.mp4', contentType, sizeBytes, open }
}

/** The parts for the reference video and the reference audio of a job. */
export function clipParts(
  { referenceVideo, referenceAudio }: VideoJob,
  names: { video: string; audio: string },
): FilePart[] {
  const part = (name: string, filename: string, file: ReferenceFile | undefined): FilePart[] =>
    file === undefined ? [] : [{ name, filename, ...file }]
  const extension = referenceAudio?.contentType.split('/')[1] ?? 'bin'
  return [
    ...part(names.video, 'reference.mp4', referenceVideo),
    ...part(names.audio, `reference.${extension}`, referenceAudio),
  ]
}
