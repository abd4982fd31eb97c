/** Names of files in code samples. */
const extensions: Record<string, string> = { 'audio/mpeg': 'mp3', 'video/mp4': 'mp4', 'image/jpeg': 'jpg' }

/** Recorded examples have this instead of the content of a file. */
const placeholder = /^<([\w/+-]+) file>$/

export const fileNameOf = (contentType: string): string =>
  `${contentType.startsWith('audio/') ? 'speech' : 'video'}.${extensions[contentType] ?? 'bin'}`

/** The name of the file that a value of a recorded form stands for; undefined if it is not a file. */
export const fileIn = (value: unknown): string | undefined => {
  const [, contentType] = (typeof value === 'string' && placeholder.exec(value)) || []
  return contentType === undefined ? undefined : fileNameOf(contentType)
}
