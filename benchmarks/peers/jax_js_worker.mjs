// The programs in jax-js, each compiled as a whole by its `jit`.
// Every use of an array but the last is `x.ref`: the library counts references.

import { installWebGpu, packages, serve, version } from "./node_protocol.mjs";

const device = await installWebGpu();
const jax = packages("@jax-js/jax");
const { numpy: np, nn, jit, grad, valueAndGrad } = jax;
await jax.init();
jax.defaultDevice("webgpu");

const array = ({ data, shape }) => np.array(data).reshape(shape);

function compiled(program, inputs) {
  const operands = inputs.map(array);
  const run = jit(program);
  return () => run(...operands.map((operand) => operand.ref));
}

const scalar = (step) => async () => {
  const result = step();
  return (await result.data())[0];
};

function chain(t, { steps, a, b }) {
  for (let index = 0; index < steps; index++) t = np.tanh(t.mul(a).add(b));
  return t;
}

const binary = {
  add: (a, b) => a.add(b),
  mul: (a, b) => a.mul(b),
  exp: (a, b) => np.exp(a.mul(b)),
  matmul: (a, b) => np.matmul(a, b),
};

const programs = {
  elementwise: (inputs) =>
    compiled((t) => np.exp(np.sin(t.ref)).mul(t).add(1), inputs),
  multiply_add: (inputs) => compiled((t) => t.ref.mul(t.ref).add(t), inputs),
  total: (inputs) => scalar(compiled((t) => np.sum(t), inputs)),
  sums: (inputs, { axis }) => compiled((t) => np.sum(t, axis), inputs),
  matmul: (inputs) => compiled((a, b) => np.matmul(a, b), inputs),
  adds: (inputs, { count }) =>
    compiled((t) => {
      let y = t.ref;
      for (let index = 0; index < count; index++) y = y.add(t.ref);
      t.dispose();
      return y;
    }, inputs),
  read: (inputs) => scalar(compiled((t) => t.add(1), inputs)),
  tanh_chain: (inputs, options) => compiled((t) => chain(t, options), inputs),
  tanh_chain_grad: (inputs, options) =>
    compiled(grad((t) => np.sum(chain(t, options))), inputs),
  grad_sum: (inputs, { operation }) => {
    const loss = grad((pair) => np.sum(binary[operation](pair[0], pair[1])));
    return compiled((a, b) => loss([a, b]), inputs);
  },
  mlp: (inputs, { rate }) => {
    const [x, wanted, ...rest] = inputs.map(array);
    let parameters = rest;
    const batch = inputs[0].shape[0];
    const loss = (parameters, x, wanted) => {
      let flowing = x;
      for (let layer = 0; layer < parameters.length; layer += 2) {
        flowing = np.matmul(flowing, parameters[layer]).add(parameters[layer + 1]);
        if (layer + 2 < parameters.length) flowing = nn.relu(flowing);
      }
      return np.sum(nn.logSoftmax(flowing).mul(wanted)).mul(-1 / batch);
    };
    const update = jit((parameters, x, wanted) => {
      const [value, gradients] = valueAndGrad(loss)(
        parameters.map((each) => each.ref), x, wanted);
      return [value, parameters.map((each, index) => each.sub(gradients[index].mul(rate)))];
    });
    return async () => {
      const [value, next] = update(parameters, x.ref, wanted.ref);
      parameters = next;
      return (await value.data())[0];
    };
  },
};

await serve(programs, {
  version: version("@jax-js/jax"),
  device,
  wait: async (result) => {
    if (typeof result !== "number") await jax.blockUntilReady(result);
  },
  read: async (result) => {
    const parts = Array.isArray(result) ? result : [result];
    return Promise.all(parts.map((part) => part.ref.data()));
  },
  drop: (result) => {
    if (typeof result === "number") return;
    for (const part of Array.isArray(result) ? result : [result]) part.dispose();
  },
});
