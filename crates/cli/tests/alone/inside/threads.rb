# HTTP server with a thread per connection. Each request computes, so its thread needs the interpreter lock. Argument: the port.
require 'socket'

def compute
  sum = 0
  20_000.times { |i| sum += i * i }
  sum
end

server = TCPServer.new('127.0.0.1', ARGV[0].to_i)
loop do
  Thread.new(server.accept) do |client|
    while client.gets
      nil until (line = client.gets).nil? || line == "\r\n"
      client.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n#{compute % 90_000 + 10_000}")
    end
  rescue SystemCallError
    nil
  ensure
    client.close
  end
end
