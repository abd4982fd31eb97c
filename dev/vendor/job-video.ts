/** A video for each job: the sample and, after it, a box that players skip. It names the job and its prompt. */

interface JobOfVideo {
  id: string
  prompt: string
}

const boxHeadBytes = 8

export function createJobVideo(sample: Buffer, { id, prompt }: JobOfVideo): Buffer {
  const name = Buffer.from(JSON.stringify({ id, prompt }))
  const head = Buffer.alloc(boxHeadBytes)
  head.writeUInt32BE(boxHeadBytes + name.length)
  head.write('free', 4)
  return Buffer.concat([sample, head, name])
}

/** The job whose video has exactly these bytes; undefined if there is none. */
export function findJobOfVideo(sample: Buffer, video: Buffer): JobOfVideo | undefined {
  try {
    const job = JSON.parse(video.toString('utf8', sample.length + boxHeadBytes)) as JobOfVideo
    return createJobVideo(sample, job).equals(video) ? job : undefined
  } catch {
    return undefined
  }
}
