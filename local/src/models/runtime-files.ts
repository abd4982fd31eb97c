/**
 * The files of the runtimes in their packages, limited to those that this platform needs. A platform that is not listed
 * is not supported.
 */
export type FileRow = [name: string, bytes: number, sha256: string]

export const onnxruntimeVersion = '1.30.0'

/** The JavaScript files of `onnxruntime-node`. */
export const onnxruntimeScripts: FileRow[] = [
  ['dist/backend.js', 6_289, 'a79e8019e7276a282987023f9d38d41063a99e563e5e1a6f38a73a7d39ea83ab'],
  ['dist/binding.js', 1_590, '2a85ac5de943c7222aae5ca2897f52d73891f528d4295b701fab077470c668c0'],
  ['dist/index.js', 1_602, '019eb02133b94b1f7fdf2d89eb93b590ce1288d271f7b280647fb3978e6391fa'],
  ['dist/version.js', 361, '0a1a7f532f4455ead0678966815c3114730150aa4368ebb5ebd9727425e9003b'],
  ['package.json', 1_593, '0871cd56ac2b9c9dfc834c7eabba819e5d4f966f005388515abb3402b14e0874'],
]

/** Paths below `bin/napi-v6/<platform>/<arch>/` of `onnxruntime-node`. */
export const onnxruntimeBinaries: Partial<Record<string, FileRow[]>> = {
  'linux/x64': [
    ['libonnxruntime.so.1', 45_828_512, 'ffb75a925ba05e47b235bb66e3e3911714a80b328a9c9425539feb204aa32a23'],
    ['onnxruntime_binding.node', 389_488, 'ccdc60b981d93a490cf9513d3f583547252b6e285b72988a96a494f2f006c7b8'],
  ],
  'linux/arm64': [
    ['libonnxruntime.so.1', 25_135_496, '1f549d46250b005580b597f4164984aaf75b3bcb9f3aeb07c7f8a8fe60b23c76'],
    ['onnxruntime_binding.node', 394_648, 'afec78dc11d38dc81605b068cefe1fc73ffe77ca240c15468aa40786150beac8'],
  ],
  'darwin/arm64': [
    [
      'libonnxruntime.1.dylib',
      44_589_928,
      '685d2be5dba1309c89d3a5324b7fd06a5c42f1a61bfea32d14c4cc28d072121d',
    ],
    ['onnxruntime_binding.node', 266_840, 'a3f993357759b06ae2411f70af60f5e041d04521ea7f0d12cb7546e411a527dd'],
  ],
  'win32/x64': [
    ['DirectML.dll', 18_527_584, '234e8898778cdec88d3cb0539508273494082812c968699f3de665a018971625'],
    ['dxcompiler.dll', 17_986_360, '593d42df78c7f9cbd97c1374af107cfe20985759f98b77afc1448fe41ee3cc76'],
    ['dxil.dll', 1_508_664, 'cf9a3981263f8ec30c9905d136eeaf4b4573209c602198671b958ec86905dea8'],
    ['onnxruntime.dll', 28_754_232, '508c362f5673483dd3a086379c392795b2e42d10d5e6f3f90ebd7ac21c97af67'],
    ['onnxruntime_binding.node', 298_848, 'ddd428464069b84414d34ec1796c7c2a69c33a976e4b0390692629e394f92fa1'],
  ],
}

/** The CommonJS files of `onnxruntime-common`. */
export const onnxruntimeCommon: FileRow[] = [
  ['dist/cjs/backend-impl.js', 5_608, '3d25321895995f7e9480570b9a88f121049adf152e1829d0ecb11218da02d487'],
  ['dist/cjs/backend.js', 433, '325aaee7a2649ea27629666f3ca01c0d80b9751e704ce502e43a8352390749b4'],
  ['dist/cjs/env-impl.js', 969, '35cd8cac33973538eab471b68622c86c35a6896f4307d1a74c9ca0eda7abbac6'],
  ['dist/cjs/env.js', 366, '22c7647f8ca1c1b83b437a92b95fee1457fcb72866fa029616b8f146dc609be8'],
  ['dist/cjs/index.js', 1_955, 'd7dd6cc9790e87299099fcd1b0ccb4969c01591d7eec0383a1c64dbea133dd1a'],
  [
    'dist/cjs/inference-session-impl.js',
    8_996,
    '88d90723a169297855ad3b564b134c6b685b2661316c81f71fc80da1e203bae0',
  ],
  ['dist/cjs/inference-session.js', 467, '458be26f316c5068d32a56ddbc30ca0aa687c636e079b3d161a69f0f14a683f1'],
  ['dist/cjs/onnx-model.js', 211, '667f5fdac4b6df25e17f8a864d4dc619507f541f9fa0aafb6d3572fcca1e25e5'],
  ['dist/cjs/onnx-value.js', 211, '8446854766f4955ce438a7338216f49223767ecc508bb502b73a3dc1a1f1998e'],
  ['dist/cjs/package.json', 20, '091a04fa67c7907b98e106fcff8b964e13129754fce72d24f3025b97c4887fa3'],
  [
    'dist/cjs/tensor-conversion-impl.js',
    8_067,
    '9815e72c0bb91896035de93b3113a2256a1a998bc53c7b5e6bf5fb4e93714766',
  ],
  ['dist/cjs/tensor-conversion.js', 218, '28cc462d4a9ea556ecc86c0e6d16a51d61b58d5bc5b4b7b48976b14bc8035bdc'],
  [
    'dist/cjs/tensor-factory-impl.js',
    11_656,
    'a3204838a2c14416e4e61c968dc17c663ab3c9b8b2c4a8b7f2a1c5b06e3e5173',
  ],
  ['dist/cjs/tensor-factory.js', 215, '13b8d735350b828a49bda8aeec50b1dac888cf42268006efc4312f50a88b6906'],
  [
    'dist/cjs/tensor-impl-type-mapping.js',
    2_995,
    '333110edbbffdb7575ea340cb341bcaf691862d6594a649db28097f7d8cb19b7',
  ],
  ['dist/cjs/tensor-impl.js', 16_458, '11645352ba5d08971344717d3339f86aac560f84f29229b2ebe07f1ec8aa8905'],
  [
    'dist/cjs/tensor-utils-impl.js',
    2_213,
    'e7b1db989d33d54bdd1807b080a0989ff0b10d5f7dd8c93b92bbf293103aa4d5',
  ],
  ['dist/cjs/tensor-utils.js', 213, 'd3f577e90dc2257c72ac728e5e6355c34af0342d971158d9f22b69d22aa97b8d'],
  ['dist/cjs/tensor.js', 393, '9097114de356750f36f28776fa6ccd08d13694f0f9aac9e7669c30b6c43153f7'],
  ['dist/cjs/trace.js', 2_496, 'faecd0df94998d786e2085d56aa6003449f1ac3b35c350e0d2762498604e5d72'],
  ['dist/cjs/type-helper.js', 212, '7f786da8d2a611ad751c70a74edf4d9acfccd26be8e5c6b1cb730f982892bf32'],
  ['dist/cjs/version.js', 361, '0a1a7f532f4455ead0678966815c3114730150aa4368ebb5ebd9727425e9003b'],
  ['package.json', 977, '4266741a80346e25820ccc494fbffb95e2f652b6dfb5585025be44df3b0d6722'],
]

export const llamaVersion = '3.22.1'

/** Paths below `bins/<platform>-<arch>/` of `@node-llama-cpp/<platform>-<arch>`. */
export const llamaBinaries: Partial<Record<string, FileRow[]>> = {
  'linux-x64': [
    ['_nlcBuildMetadata.json', 217, '8e0130a6e47ec45e29c1ea5f5a4654144de4b64cd1a5339c01bb8d213def4089'],
    ['libggml-base.so', 919_560, '6c342c8aeb20cb31a18099d6f79de4de6703814d1cfd5c4d754a8643087e486e'],
    [
      'libggml-cpu-alderlake.so',
      1_224_328,
      '6527efda35405a0d91574aced4a7766db9bb0494ab6458c83fe9eba755eb76f7',
    ],
    [
      'libggml-cpu-cannonlake.so',
      1_369_312,
      '44285a67a31a81a036a70c565d391b31145d835044c03c76cfaa2f90a9d57d42',
    ],
    [
      'libggml-cpu-cascadelake.so',
      1_369_312,
      '97cace813fbf7b7a07c4793f6a75b8b2d3de256430620f0be4a15bd4372468ea',
    ],
    [
      'libggml-cpu-cooperlake.so',
      1_365_288,
      '5eda284fd8986d550e21623b269dd31d02c07fc70121d3099609d5dde6b6847e',
    ],
    ['libggml-cpu-haswell.so', 1_228_424, 'ddaa96012769f0e86e8670cca374243751880bea2c2d0a4413b3a1b7a29dca74'],
    ['libggml-cpu-icelake.so', 1_369_312, '9b9c24aaa775fd38a6e1ff082549e50d4138d29f2e2883630b28ab70704ed896'],
    [
      'libggml-cpu-ivybridge.so',
      1_190_120,
      '91b27ab81df92b8429c8e3441a8861014d3aec1424f90885a628fd0d4567532f',
    ],
    [
      'libggml-cpu-piledriver.so',
      1_186_024,
      '2cb5b2101f5bbefa2416ec7f8b6c6acb177d04f0157989c5d92e4c07750fd3f8',
    ],
    [
      'libggml-cpu-sandybridge.so',
      1_180_808,
      'bce17565033835dfb59fae2ed712d4c35e56463c2d49ea61ca08e6e2908bdfd6',
    ],
    [
      'libggml-cpu-sapphirerapids.so',
      1_669_760,
      'e3d4840632b2242655e1721c6b93ec0370406dded9074accfe90bcfb67bd30b8',
    ],
    [
      'libggml-cpu-skylakex.so',
      1_369_312,
      'df30b40a957175cd8e462e8838632dc51e3be7570b27b9526cb7a044263aeab3',
    ],
    ['libggml-cpu-sse42.so', 981_608, 'ec65053445506965db5dd9382d7ede084ba639edc55f77aaf73581c778969e02'],
    ['libggml-cpu-x64.so', 977_688, '1174c3c3e0b8722313df561d7ef5ece516a070732cec9b8ddda3667c0b959728'],
    ['libggml-cpu-zen4.so', 1_365_288, 'd84208de33fdadb8921a1a1a34342f5eceb1e58b83648be68050f7557312bd3e'],
    ['libggml.v0.5.0.so', 55_184, '41cd5e6ad78b9f0af31a6f80d637d3168e75ff84db14c495de4d3d9c95607444'],
    ['libllama-common.so', 6_169_616, '8cb10e69b3de60d4ce6047ca13fe1e68c28caad87382701ee7fbde28d19952bd'],
    ['libllama.v0.5.0.so', 4_620_496, '2ecd1d85f68456573a664106a9039366b88231579fd65d9669c9a6ab41374fd4'],
    ['llama-addon.node', 744_496, '48c1680dc565201570ee3591b6444c805958e78ef6e2f7a202849a21f7f12833'],
  ],
  'linux-arm64': [
    ['_nlcBuildMetadata.json', 219, '381410176fce3a54c876536789a2c8199685961b199988ebfbfeae164ea5139d'],
    ['libggml-base.so', 952_096, 'ef8a2f781f9fccc99a744166529e20f48ea4c850e35fbb38d88762691fea1da6'],
    ['libggml-cpu-armv8.0_1.so', 984_904, '016d2bd41948f4989df8c06a1cb1f6a3ed5a2ead811bd95a4511a842260f2365'],
    [
      'libggml-cpu-armv8.2_1.so',
      1_018_920,
      '8539c4995e56237e5b43d2147bfabe0fabb21e55cb93d2f3ef55796c819f2d0d',
    ],
    [
      'libggml-cpu-armv8.2_2.so',
      1_023_016,
      'fe0312b22078d8215582ca9deb76d595257700a5d0c4cfc43a9a6ee93d828937',
    ],
    [
      'libggml-cpu-armv8.2_3.so',
      1_018_792,
      '0b5714435030b1a48b5dfae3484c1c592c7f95925444c1799f4a753046e6dbb3',
    ],
    [
      'libggml-cpu-armv8.6_1.so',
      1_039_496,
      '0fdfbb750748b9502cb5e90ff822415b30390de0b9c527c929087f36548d265e',
    ],
    [
      'libggml-cpu-armv8.6_2.so',
      1_039_496,
      '5179873d30a2e55db5d8bb20e3c28d32c0a170fbac237cebcbc2f77b477c8946',
    ],
    [
      'libggml-cpu-armv9.2_1.so',
      1_039_496,
      '98d963eee3db588a9531617588edb077c8f1cdca5ae6d974f0b3324ea1c290ab',
    ],
    [
      'libggml-cpu-armv9.2_2.so',
      1_039_496,
      '6cb2f7dcac85d7b1ea939354072495a16910d5509c3accd5caa1aab1df6d33f7',
    ],
    ['libggml.v0.5.0.so', 50_880, 'c1c7b0c0d2d67863c7e0544dd7190bf0f0897c87ae3002efca5817bdda9b9b85'],
    ['libllama-common.so', 5_824_096, 'e7447957af6f7ffb3964998c7f95375ed7d6a37269aaf17e6cd5706fd054b0fd'],
    ['libllama.v0.5.0.so', 4_212_712, 'ba559136061c8ca89df13d86937fa4214100583fb4d734ab2a6ebe2a149be993'],
    ['llama-addon.node', 738_352, '8e554d0a627a8063f5a3eae77b120a3278b134f50f1bbe2561a3553c995b6060'],
  ],
}
