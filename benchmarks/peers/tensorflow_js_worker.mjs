// The programs in TensorFlow.js with its WebGPU backend: eager, in `tidy` scopes.

import { installWebGpu, packages, serve, version } from "./node_protocol.mjs";

const device = await installWebGpu();
globalThis.document ??= { createElement: () => ({ getContext: () => null }) };
globalThis.self ??= globalThis;
// The union package: gradients are registered by it.
const tf = packages("@tensorflow/tfjs");
packages("@tensorflow/tfjs-backend-webgpu");
// Operations on small tensors would run on the processor otherwise.
tf.env().set("WEBGPU_CPU_FORWARD", false);
if (!(await tf.setBackend("webgpu"))) throw new Error("the WebGPU backend does not start");
await tf.ready();

const tensor = ({ data, shape }) => tf.tensor(data, shape);

function eager(program, inputs) {
  const operands = inputs.map(tensor);
  return () => tf.tidy(() => program(...operands));
}

const scalar = (step) => async () => {
  const result = step();
  const value = (await result.data())[0];
  result.dispose();
  return value;
};

function chain(t, { steps, a, b }) {
  for (let index = 0; index < steps; index++) t = t.mul(a).add(b).tanh();
  return t;
}

const binary = {
  add: (a, b) => a.add(b),
  mul: (a, b) => a.mul(b),
  exp: (a, b) => a.mul(b).exp(),
  matmul: (a, b) => a.matMul(b),
};

const programs = {
  elementwise: (inputs) => eager((t) => t.sin().exp().mul(t).add(1), inputs),
  multiply_add: (inputs) => eager((t) => t.mul(t).add(t), inputs),
  total: (inputs) => scalar(eager((t) => t.sum(), inputs)),
  sums: (inputs, { axis }) => eager((t) => t.sum(axis), inputs),
  matmul: (inputs) => eager((a, b) => a.matMul(b), inputs),
  adds: (inputs, { count }) =>
    eager((t) => {
      let y = t;
      for (let index = 0; index < count; index++) y = y.add(t);
      return y;
    }, inputs),
  read: (inputs) => scalar(eager((t) => t.add(1), inputs)),
  tanh_chain: (inputs, options) => eager((t) => chain(t, options), inputs),
  tanh_chain_grad: (inputs, options) =>
    eager(tf.grad((t) => chain(t, options).sum()), inputs),
  grad_sum: (inputs, { operation }) => {
    const gradients = tf.grads((a, b) => binary[operation](a, b).sum());
    return eager((a, b) => gradients([a, b]), inputs);
  },
  mlp: (inputs, { rate }) => {
    const [x, wanted, ...rest] = inputs.map(tensor);
    const parameters = rest.map((each) => tf.variable(each));
    const optimizer = tf.train.sgd(rate);
    const loss = () => {
      let flowing = x;
      for (let layer = 0; layer < parameters.length; layer += 2) {
        flowing = flowing.matMul(parameters[layer]).add(parameters[layer + 1]);
        if (layer + 2 < parameters.length) flowing = flowing.relu();
      }
      return flowing.logSoftmax().mul(wanted).sum().mul(-1 / inputs[0].shape[0]);
    };
    return scalar(() => optimizer.minimize(loss, true, parameters));
  },
};

await serve(programs, {
  version: version("@tensorflow/tfjs"),
  device,
  wait: async () => {
    const backend = tf.backend();
    // Commands wait in an open pass until something reads; close and submit it.
    backend.endComputePassEncoder();
    if (backend.commandEncoder) backend.submitQueue();
    await backend.queue.onSubmittedWorkDone();
  },
  read: async (result) => {
    const parts = Array.isArray(result) ? result : [result];
    return Promise.all(parts.map((part) => part.data()));
  },
  drop: (result) => {
    if (typeof result !== "number") tf.dispose(result);
  },
});
