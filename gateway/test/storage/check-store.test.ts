/** `kinora storage check`: each fault is found, and named with its fix. */
import { mkdtempDisposable, readdir, writeFile } from 'node:fs/promises'
import { createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import {
  DeleteBucketPolicyCommand,
  ListObjectsV2Command,
  PutBucketLifecycleConfigurationCommand,
  PutBucketPolicyCommand,
  PutBucketVersioningCommand,
} from '@aws-sdk/client-s3'
import { beforeEach, describe, expect, inject, test } from 'vitest'

import { checkStore } from '../../src/storage/check-store.ts'
import { parseBucketUrl } from '../../src/storage/s3/bucket-url.ts'
import { mediaDiskProblem, mountMediaDisk } from '../faults/media-disk.ts'
import { client, createBucket, useCredentials } from '../kit/buckets.ts'

beforeEach(useCredentials)

/** The problems of a store by the name of the check. */
const problemsOf = async (place: Parameters<typeof checkStore>[0]) => {
  const checks = await checkStore(place)
  return Object.fromEntries(checks.flatMap(({ name, problem }) => (problem ? [[name, problem]] : [])))
}

const checkUrl = (url: string) => problemsOf(parseBucketUrl(url))

/** A server that handles requests itself, or passes them on and changes the headers of the response. */
const startServer = async (
  fault: { xml: string; status: number } | { headers: Record<string, string> },
): Promise<AsyncDisposable & { url: string }> => {
  const { hostname: host, port } = new URL(inject('objectStore').endpoint)
  const server = createServer((request, response) => {
    if ('xml' in fault) {
      request.resume()
      response.writeHead(fault.status, { 'content-type': 'application/xml' }).end(fault.xml)
      return
    }
    const { method, url: path, headers } = request
    const passed = forward({ host, port, method, path, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...fault.headers })
      answer.pipe(response)
    })
    request.pipe(passed)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve())
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const errorXml = (code: string, more = '') => ({
  xml: `<?xml version="1.0"?><Error><Code>${code}</Code><Message>a message</Message>${more}</Error>`,
})

const steps = ['write', 'read', 'range', 'list', 'presigned URL', 'clock', 'multipart', 'delete']
const settings = ['versions', 'object lock', 'unfinished uploads']

/** The warnings about a bucket by the name of the setting. */
const warningsOf = async (url: string) => {
  const checks = await checkStore(parseBucketUrl(url))
  return Object.fromEntries(checks.flatMap(({ name, warning }) => (warning ? [[name, warning]] : [])))
}

describe('in S3', () => {
  test('a bucket that keeps content after its deletion is a warning with its fix', async () => {
    const { name: Bucket, url } = await createBucket()
    const uploads = { fix: 'add a lifecycle rule with AbortIncompleteMultipartUpload after 1 day' }
    expect(await warningsOf(url)).toEqual({ 'unfinished uploads': expect.objectContaining(uploads) })
    const addRule = (Prefix: string) =>
      client.send(
        new PutBucketLifecycleConfigurationCommand({
          Bucket,
          LifecycleConfiguration: {
            Rules: [
              {
                ...{ ID: 'uploads', Status: 'Enabled', Filter: { Prefix } },
                AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
              },
            ],
          },
        }),
      )
    await addRule('other/')
    expect(await warningsOf(url)).toEqual({ 'unfinished uploads': expect.objectContaining(uploads) })
    await addRule('')
    expect(await warningsOf(url)).toEqual({})
    await client.send(
      new PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }),
    )
    expect(await warningsOf(url)).toEqual({
      versions: {
        cause: 'versioning is enabled, so the versions of a deleted object stay',
        fix: expect.stringMatching(/NoncurrentVersionExpiration/),
      },
    })
    const locked = await createBucket(undefined, { ObjectLockEnabledForBucket: true })
    expect(await warningsOf(locked.url)).toMatchObject({
      versions: { cause: expect.stringMatching(/enabled/) },
      'object lock': { fix: 'use a bucket without object lock' },
    })
  })

  test('every function of a working bucket is used, and nothing is left', async () => {
    const { name, url } = await createBucket()
    const checks = await checkStore(parseBucketUrl(url))
    expect(checks.map(({ name: each, problem }) => [each, problem])).toEqual(
      [...steps, ...settings].map((each) => [each, undefined]),
    )
    expect((await client.send(new ListObjectsV2Command({ Bucket: name }))).KeyCount).toBe(0)
  })

  test('wrong credentials are told apart', async () => {
    const { url } = await createBucket()
    process.env['AWS_SECRET_ACCESS_KEY'] = 'wrong'
    expect(await checkUrl(url)).toEqual({
      write: {
        cause: 'the secret key does not belong to the access key',
        fix: 'correct AWS_SECRET_ACCESS_KEY',
      },
    })
    process.env['AWS_ACCESS_KEY_ID'] = 'UNKNOWN'
    expect(await checkUrl(url)).toMatchObject({ write: { fix: expect.stringMatching(/AWS_ACCESS_KEY_ID/) } })
  })

  test('a missing bucket, and an endpoint where nothing listens', async () => {
    const { url } = await createBucket()
    expect(await checkUrl(url.replace('test-', 'none-'))).toMatchObject({
      write: {
        cause: expect.stringMatching(/^there is no bucket none-/),
        fix: expect.stringMatching(/create the bucket/),
      },
    })
    const closed = `s3://bucket?endpoint=http://127.0.0.1:9&path_style=true`
    expect(await checkUrl(closed)).toMatchObject({
      write: {
        cause: 'nothing listens at http://127.0.0.1:9',
        fix: expect.stringMatching(/correct the endpoint/),
      },
    })
  })

  test('a server that needs path_style', async () => {
    const { name } = await createBucket()
    const endpoint = inject('objectStore').endpoint.replace('127.0.0.1', 'localhost')
    expect(await checkUrl(`s3://${name}?endpoint=${encodeURIComponent(endpoint)}`)).toMatchObject({
      write: { fix: expect.stringMatching(/^add path_style=true/) },
    })
  })

  test.each([
    ['s3:DeleteObject', 'delete', '/media/*'],
    ['s3:ListBucket', 'list', ''],
    ['s3:PutObject', 'write', '/media/*'],
  ])('a missing permission for %s', async (action, check, objects) => {
    const { name, url } = await createBucket()
    const Policy = JSON.stringify({
      Version: '2012-10-17',
      Statement: [
        {
          ...{ Effect: 'Deny', Principal: '*', Action: action },
          Resource: [`arn:aws:s3:::${name}`, `arn:aws:s3:::${name}/*`],
        },
      ],
    })
    await client.send(new PutBucketPolicyCommand({ Bucket: name, Policy }))
    expect(await checkUrl(url)).toEqual({
      [check]: {
        cause: `the credentials may not use ${action}`,
        fix: `allow ${action} on arn:aws:s3:::${name}${objects}`,
      },
    })
    await client.send(new DeleteBucketPolicyCommand({ Bucket: name }))
  })

  test('a wrong region, and a clock that the server does not accept', async () => {
    await using other = await startServer({
      status: 400,
      ...errorXml('AuthorizationHeaderMalformed', '<Region>eu-west-1</Region>'),
    })
    expect(await checkUrl(`s3://bucket?region=us-east-1&endpoint=${other.url}`)).toEqual({
      write: {
        cause: 'the bucket is in eu-west-1, and not in us-east-1',
        fix: 'set region=eu-west-1 in MEDIA_STORE',
      },
    })
    await using late = await startServer({ status: 403, ...errorXml('RequestTimeTooSkewed') })
    expect(await checkUrl(`s3://bucket?endpoint=${late.url}`)).toMatchObject({
      write: { fix: 'apt-get install chrony' },
    })
  })

  test('a clock that differs, and headers that a presigned URL does not have', async () => {
    await using late = await startServer({
      headers: { date: new Date(Date.now() - 3_600_000).toUTCString() },
    })
    expect(await checkUrl((await createBucket(late.url)).url)).toMatchObject({
      clock: { cause: expect.stringMatching(/by 36\d\d s/), fix: 'apt-get install chrony' },
    })
    await using plain = await startServer({ headers: { 'content-disposition': 'attachment' } })
    expect(await checkUrl((await createBucket(plain.url)).url)).toMatchObject({
      'presigned URL': { cause: expect.stringMatching(/content-disposition attachment/) },
    })
  })
})

describe('on disk', () => {
  test('every function of a working directory is used, and nothing is left', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-check-'))
    const checks = await checkStore(directory.path)
    expect(checks.map(({ name, problem }) => [name, problem])).toEqual(
      ['write', 'read', 'range', 'list', 'delete'].map((each) => [each, undefined]),
    )
    expect(await readdir(directory.path)).toEqual([])
  })

  test('a missing directory, and a file', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-check-'))
    expect(await problemsOf(join(directory.path, 'none'))).toMatchObject({
      directory: { fix: expect.stringMatching(/^create the directory/) },
    })
    const file = join(directory.path, 'file')
    await writeFile(file, '')
    expect(await problemsOf(file)).toMatchObject({ directory: { cause: 'it is a file' } })
    expect(await problemsOf(join(file, 'media'))).toMatchObject({
      directory: { fix: expect.stringMatching(/a part of the path is a file/) },
    })
  })

  test.skipIf(mediaDiskProblem !== undefined)('a full disk', async () => {
    await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-check-'))
    await using disk = await mountMediaDisk(directory.path)
    // A disk of 0 bytes would have no limit.
    await writeFile(join(directory.path, 'other'), 'x')
    await disk.fill()
    expect(await problemsOf(directory.path)).toMatchObject({
      write: { cause: expect.stringMatching(/ENOSPC/), fix: expect.stringMatching(/^the disk is full/) },
    })
    expect(await readdir(directory.path)).toEqual(['other'])
  })
})
