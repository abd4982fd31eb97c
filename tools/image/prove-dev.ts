/** The image with everything in one container, as the README starts it: `docker run … kinora/kinora:dev`. */
import { podman, prefix, runOptions } from './podman.ts'

interface DevProof {
  image: string
  port: number
  until: (what: string, isSo: () => Promise<boolean>) => Promise<void>
  finishVideo: (url: string, key: string, order: object) => Promise<string>
}

/** Starts the container, makes a video with the key that it prints, and stops it. Returns the link of the video. */
export const proveDevImage = async ({ image, port, until, finishVideo }: DevProof): Promise<string> => {
  const container = `${prefix}-dev`
  const url = `http://127.0.0.1:${port}`
  await podman(
    ...['run', '--detach', '--name', container, ...runOptions, '--publish', `127.0.0.1:${port}:8787`],
    // Links begin with the URL of the machine, which the README publishes on the same port.
    ...['--env', `PUBLIC_URL=${url}`, image, 'dev', '--no-models'],
  )
  let output = ''
  await until('the container is ready', async () => {
    output = await podman('logs', container)
    return output.includes('Kinora is ready')
  })
  const [key] = /sk-\S+/.exec(output) ?? []
  if (key === undefined) throw new Error(`no key in: ${output}`)
  const link = await finishVideo(url, key, {
    model: 'sora-2',
    prompt: 'A whale at sunset',
    seconds: 4,
    size: '480x480',
  })
  await podman('stop', '--time', '60', container)
  const code = await podman('inspect', '--format', '{{.State.ExitCode}}', container)
  if (code !== '0') throw new Error(`the stopped container has the exit code ${code}`)
  return link
}
