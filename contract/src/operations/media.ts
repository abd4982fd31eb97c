/** Signed links to files. */
import { Type } from 'typebox'

import type { Operation } from '../operation.ts'

export const mediaOperations = {
  getMedia: {
    id: 'getMedia',
    method: 'GET',
    path: '/media/{id}/{name}',
    summary: 'Download a file by its signed link',
    description:
      'Returns a file, or a redirect to it. The link contains its own authorization, so no API key is needed. It is valid only without any change or addition. `Range` requests are supported.',
    access: 'link',
    parameters: {
      path: {
        id: Type.String({ description: 'Id of the file.' }),
        name: Type.String({ description: 'File name for the download.' }),
      },
      query: {
        expires: Type.String({ description: 'Unix time in seconds at which the link expires.' }),
        key: Type.String({ description: 'Id of the secret that signed the link.' }),
        signature: Type.String({ description: 'Signature of the link.' }),
      },
    },
    answer: { description: 'The file, or the requested range of it.', contentType: 'video/mp4' },
    errors: [
      'invalid_parameter',
      'media_not_found',
      'link_expired',
      'media_expired',
      'range_not_satisfiable',
    ],
  },
} as const satisfies Record<string, Operation>
